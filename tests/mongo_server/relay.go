package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/FerretDB/wire"
	"github.com/FerretDB/wire/wirebson"
)

const (
	documentStart = wire.MsgHeaderLen + 4 + 1 // after the header: flags, and the kind of the first section
	largest       = 48_000_000                // bytes of a message, as the server tells its clients
)

// relay stands between the clients and FerretDB, and keeps three promises of MongoDB's that FerretDB does not:
//
//   - An update finds and changes its document in one step. FerretDB reads it, and writes it back later: of two
//     clients that compare and set, both would win. So one write at a time is let through.
//   - Each statement of a batch succeeds or fails by itself. FerretDB gives up the rest after the first failure, then
//     tells no counts, numbers upserts wrongly, and hangs at the hundredth update. So clients are told that a batch has
//     one statement, and after a failure that it changed nothing; they put the answers together again.
//   - A document is found quickly by its _id: see byID; also if more is expected of it: see compared; also with others:
//     see several.
type relay struct {
	server  string
	indexes *byID
	writing sync.Mutex
}

func newRelay(server, data string) *relay {
	return &relay{server: server, indexes: &byID{folder: data, indexed: map[string]bool{}}}
}

func (r *relay) run(ctx context.Context, clients net.Listener) {
	context.AfterFunc(ctx, func() { clients.Close() })
	for {
		client, err := clients.Accept()
		if ctx.Err() != nil {
			return
		}
		must(err)
		go r.serve(ctx, client)
	}
}

// serve lasts until the client or the server hangs up.
func (r *relay) serve(ctx context.Context, client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", r.server)
	if err != nil {
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { client.Close(); server.Close() })()
	for {
		question, err := message(client)
		if err != nil {
			return
		}
		answer, err := r.ask(server, question)
		if err != nil {
			return
		}
		if _, err := client.Write(answer); err != nil {
			return
		}
	}
}

func (r *relay) ask(server net.Conn, question []byte) ([]byte, error) {
	command := documentOf(question)
	name := command.Command()
	switch name {
	case "insert", "update", "delete", "findAndModify":
		r.writing.Lock()
		defer r.writing.Unlock()
		defer r.indexes.prepare(fmt.Sprint(command.Get("$db")), fmt.Sprint(command.Get(name)))
	case "drop", "dropDatabase":
		r.writing.Lock()
		defer r.writing.Unlock()
		defer r.indexes.forget()
	}
	switch name {
	case "find":
		answer, err := r.several(server, question)
		if answer != nil || (err != nil && err != errRefused) {
			return answer, err
		}
	case "update":
		narrowed, err := r.compared(server, question)
		if err == nil {
			question = narrowed
		} else if err != errRefused {
			return nil, err
		}
	}
	if _, err := server.Write(question); err != nil {
		return nil, err
	}
	answer, err := message(server)
	if err == nil && name == "update" {
		answer = withCounts(answer)
	}
	return withBatchesOfOne(answer), err
}

var errRefused = errors.New("FerretDB does not take the question, and says why to who asked")

// search is a question of ours.
func (r *relay) search(server net.Conn, command *wirebson.Document) (*wirebson.Array, error) {
	question := make([]byte, documentStart)
	binary.LittleEndian.PutUint32(question[wire.MsgHeaderLen-4:], uint32(wire.OpCodeMsg))
	if _, err := server.Write(withDocument(question, command)); err != nil {
		return nil, err
	}
	answer, err := message(server)
	if err != nil {
		return nil, err
	}
	if cursor, is := documentOf(answer).Get("cursor").(wirebson.AnyDocument); is {
		if told, err := cursor.Decode(); err == nil {
			return told.Get("firstBatch").(wirebson.AnyArray).Decode()
		}
	}
	return nil, errRefused
}

func message(from io.Reader) ([]byte, error) {
	var header [wire.MsgHeaderLen]byte
	if _, err := io.ReadFull(from, header[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(header[:])
	if size < wire.MsgHeaderLen || size > largest {
		return nil, fmt.Errorf("a message of %d bytes", size)
	}
	whole := append(make([]byte, 0, size), header[:]...)[:size]
	_, err := io.ReadFull(from, whole[wire.MsgHeaderLen:])
	return whole, err
}

// documentOf is a command or its answer; empty for a greeting in the old form, and for nonsense, which FerretDB refuses.
func documentOf(message []byte) *wirebson.Document {
	kind := wire.OpCode(binary.LittleEndian.Uint32(message[wire.MsgHeaderLen-4:]))
	if kind == wire.OpCodeMsg && len(message) > documentStart {
		rest := message[documentStart:]
		if size, err := wirebson.FindRaw(rest); err == nil {
			if document, err := wirebson.RawDocument(rest[:size]).Decode(); err == nil {
				return document
			}
		}
	}
	return wirebson.MustDocument()
}

func withCounts(answer []byte) []byte {
	document := documentOf(answer)
	if document.Get("writeErrors") == nil || document.Get("nModified") != nil {
		return answer
	}
	document.Remove("n")
	must(document.Add("n", int32(0)))
	must(document.Add("nModified", int32(0)))
	return withDocument(answer, document)
}

// withDocument is a message with the same header and another document, which is all that follows.
func withDocument(message []byte, document *wirebson.Document) []byte {
	raw, err := document.Encode()
	must(err)
	message = append(message[:documentStart:documentStart], raw...)
	binary.LittleEndian.PutUint32(message, uint32(len(message)))
	return message
}

// withBatchesOfOne changes the number in the server's greeting, where it has one.
func withBatchesOfOne(answer []byte) []byte {
	field := []byte("\x10maxWriteBatchSize\x00")
	if at := bytes.Index(answer, field); at >= 0 {
		binary.LittleEndian.PutUint32(answer[at+len(field):], 1)
	}
	return answer
}

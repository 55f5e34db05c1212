package main

import (
	"encoding/binary"
	"fmt"
	"net"

	"github.com/FerretDB/wire"
	"github.com/FerretDB/wire/wirebson"
)

// several answers a search for documents by a list of their names, with as many searches for one: FerretDB would read
// the whole collection. It answers nil to any other question.
func (r *relay) several(server net.Conn, question []byte) ([]byte, error) {
	command := documentOf(question)
	names := namesOf(command)
	if names == nil {
		return nil, nil
	}
	found := wirebson.MakeArray(len(names))
	for _, name := range names {
		one := wirebson.MustDocument("find", command.Get("find"), "filter", wirebson.MustDocument("_id", name))
		if shown := command.Get("projection"); shown != nil {
			must(one.Add("projection", shown))
		}
		must(one.Add("$db", command.Get("$db")))
		documents, err := r.search(server, one)
		if err != nil {
			return nil, err
		}
		for document := range documents.Values() {
			must(found.Add(document))
		}
	}
	space := fmt.Sprintf("%s.%s", command.Get("$db"), command.Get("find"))
	cursor := wirebson.MustDocument("firstBatch", found, "id", int64(0), "ns", space)
	answer := make([]byte, documentStart)
	copy(answer[8:12], question[4:8]) // which question it answers
	binary.LittleEndian.PutUint32(answer[wire.MsgHeaderLen-4:], uint32(wire.OpCodeMsg))
	return withDocument(answer, wirebson.MustDocument("cursor", cursor, "ok", float64(1))), nil
}

// namesOf is the list of a search for nothing but a list of names, in any order.
func namesOf(command *wirebson.Document) []string {
	if command.Get("sort") != nil || command.Get("limit") != nil || command.Get("skip") != nil {
		return nil
	}
	filter, is := decoded(command.Get("filter"))
	if !is || filter.Len() != 1 {
		return nil
	}
	wanted, is := decoded(filter.Get("_id"))
	if !is || wanted.Len() != 1 {
		return nil
	}
	list, is := wanted.Get("$in").(wirebson.AnyArray)
	if !is {
		return nil
	}
	names, err := list.Decode()
	if err != nil {
		return nil
	}
	var all []string
	known := map[string]bool{}
	for value := range names.Values() {
		name, is := value.(string)
		if !is {
			return nil
		}
		if !known[name] {
			all = append(all, name)
		}
		known[name] = true
	}
	return all
}

func decoded(value any) (*wirebson.Document, bool) {
	if document, is := value.(wirebson.AnyDocument); is {
		decoded, err := document.Decode()
		return decoded, err == nil
	}
	return nil, false
}

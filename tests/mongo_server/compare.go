package main

import (
	"net"

	"github.com/FerretDB/wire"
	"github.com/FerretDB/wire/wirebson"
)

// nobody is the _id of no document.
const nobody = "\x00 nobody"

// compared turns an update that names its document and expects something of it, as compare and set does, into one that
// only names it, if it is as expected, and nobody otherwise: FerretDB would read the whole collection. There is no other
// write meanwhile.
//
// An upsert of what is not as expected fails because it would insert the document a second time: so does that insert.
func (r *relay) compared(server net.Conn, question []byte) ([]byte, error) {
	command, statement := updateOf(question)
	if statement == nil || statement.Get("multi") == true {
		return question, nil
	}
	id, expected := split(statement.Get("q"))
	if id == nil || expected.Len() == 0 {
		return question, nil
	}
	is, err := r.finds(server, command, id, expected)
	if err != nil {
		return nil, err
	}
	if !is && statement.Get("upsert") == true {
		if is, err = r.finds(server, command, id); err != nil || !is {
			return question, err
		}
		return withDocument(question, wirebson.MustDocument(
			"insert", command.Get("update"), "documents", wirebson.MustArray(id), "$db", command.Get("$db"),
		)), nil
	}
	if !is {
		id = wirebson.MustDocument("_id", nobody)
	}
	must(statement.Replace("q", id))
	must(command.Replace("updates", wirebson.MustArray(statement)))
	return withDocument(question, command), nil
}

// finds asks FerretDB for a document that meets all filters: the first is the one it can use an index for.
func (r *relay) finds(server net.Conn, command *wirebson.Document, filters ...*wirebson.Document) (bool, error) {
	stages := wirebson.MakeArray(len(filters) + 1)
	for _, filter := range filters {
		must(stages.Add(wirebson.MustDocument("$match", filter)))
	}
	must(stages.Add(wirebson.MustDocument("$project", wirebson.MustDocument("_id", int32(1)))))
	found, err := r.search(server, wirebson.MustDocument(
		"aggregate", command.Get("update"), "pipeline", stages, "cursor", wirebson.MustDocument(), "$db", command.Get("$db"),
	))
	return err == nil && found.Len() > 0, err
}

// updateOf is a command with one update, and that update; they come in one document, or in two sections.
func updateOf(question []byte) (command, statement *wirebson.Document) {
	var body wire.OpMsg
	if err := body.UnmarshalBinaryNocopy(question[wire.MsgHeaderLen:]); err != nil {
		return nil, nil
	}
	command = documentOf(question)
	for _, section := range body.Sections() {
		if documents := section.Documents(); section.Identifier == "updates" && len(documents) == 1 {
			if statement, err := documents[0].Decode(); err == nil {
				must(command.Add("updates", wirebson.MustArray(documents[0])))
				return command, statement
			}
		}
	}
	if updates, is := command.Get("updates").(wirebson.AnyArray); is {
		if array, err := updates.Decode(); err == nil && array.Len() == 1 {
			statement, _ = decoded(array.Get(0))
		}
	}
	return command, statement
}

// split is nil where a filter does not name one document.
func split(filter any) (id, rest *wirebson.Document) {
	if rest, is := decoded(filter); is {
		if name, is := rest.Get("_id").(string); is {
			rest.Remove("_id")
			return wirebson.MustDocument("_id", name), rest
		}
	}
	return nil, nil
}

package main

import (
	"database/sql"
	"fmt"
	"log"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the same driver as FerretDB's
)

// byID gives each collection an index that FerretDB's searches by _id can use.
//
// FerretDB makes one for _ferretdb_sjson->"_id", which keeps the _id unique, and searches for
// _ferretdb_sjson->'$._id': the same to a reader, another expression to SQLite, which then reads the whole table.
type byID struct {
	folder  string
	indexed map[string]bool
}

// prepare is called after a write, when the collection exists, if it was one that FerretDB accepted.
func (b *byID) prepare(database, collection string) {
	name := database + "." + collection
	if b.indexed[name] {
		return
	}
	file := filepath.Join(b.folder, database+".sqlite")
	if _, err := os.Stat(file); err != nil {
		return
	}
	if err := createIndex(file, collection); err != nil {
		log.Printf("%s is slow, it has no index: %s", name, err)
		return
	}
	b.indexed[name] = true
}

// forget is called after a collection, or a whole database, was dropped: which ones does not matter much.
func (b *byID) forget() {
	b.indexed = map[string]bool{}
}

func createIndex(file, collection string) error {
	db, err := sql.Open("sqlite", "file:"+url.PathEscape(file)+"?mode=rw&_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer db.Close()
	var table string
	query := "SELECT table_name FROM _ferretdb_collections WHERE name = ?"
	if err := db.QueryRow(query, collection).Scan(&table); err != nil {
		return err
	}
	_, err = db.Exec(fmt.Sprintf("CREATE INDEX IF NOT EXISTS %q ON %q (_ferretdb_sjson->'$._id')", table+"_by_id", table))
	return err
}

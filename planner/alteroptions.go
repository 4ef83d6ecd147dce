package planner

import (
	"context"
	"fmt"
	"maps"

	"leat/configs"
	"leat/internal/diag"
	"leat/sqlfront"
)

// alterOptions changes the options of a catalog, for the session. Databases of a
// file system have none.
func (s *Session) alterOptions(ctx context.Context, v *sqlfront.AlterOptions) {
	if v.Word == "DATABASE" {
		c, db, ok := s.splitDatabase(v.Name)
		if ok && s.databaseExists(ctx, c, db, v.Name.At) {
			s.notice(configs.Notice{Pos: v.Pos(), Key: "properties of databases", Msg: "a catalog on a file system keeps no properties of databases: ALTER DATABASE has no effect"})
		}
		return
	}
	if len(v.Name.Parts) != 1 {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeParse, Pos: v.Name.At, Msg: "a catalog has a name of one part", Hint: "write ALTER CATALOG name SET (…)"})
		return
	}
	c, ok := s.findCatalog(v.Name.Parts[0])
	if !ok {
		return
	}
	if v.Action == "COMMENT" {
		s.notice(configs.Notice{Pos: v.Pos(), Key: "comments of catalogs", Msg: "comments of catalogs are not kept"})
		return
	}
	options := maps.Clone(c.options)
	if options == nil {
		options = map[string]string{}
	}
	given := configs.Values{}
	for _, o := range v.Options {
		if o.Key == configs.CatalogType.Key || o.Key == configs.CatalogWarehouse.Key {
			s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Pos: o.KeyPos, Option: o.Key, Msg: fmt.Sprintf("'%s' of a catalog stays as it is", o.Key), Hint: "make another catalog: CREATE CATALOG"})
			return
		}
		delete(options, o.Key)
		if v.Action == "SET" {
			given[o.Key] = configs.Value{Text: o.Value, KeyPos: o.KeyPos, Pos: o.ValuePos}
		}
	}
	notices, errs := configs.Catalog.Check(given, configs.CheckOptions{})
	for _, n := range notices {
		s.notice(n)
	}
	for _, e := range errs {
		if e.Code != diag.CodeMissingOption {
			s.fail(e)
		}
	}
	if s.errs.Err() != nil {
		return
	}
	maps.Copy(options, configs.Catalog.Redact(given))
	c.options = options
	s.result.Shaped = true
}

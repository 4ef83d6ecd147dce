package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// syncGroups are the flags of `leat sync mysql` by what they are about, in the order
// of the help; others stand at its end.
var syncGroups = []struct {
	title string
	flags []string
}{
	{"The server and its tables", []string{"url", "include", "exclude", "including-tables", "excluding-tables", "including-dbs", "excluding-dbs", "mode", "mysql-conf"}},
	{"Where the copies go", []string{
		"warehouse", "database", "table", "table-mapping", "table-prefix", "table-suffix", "table-prefix-db", "table-suffix-db", "merge-shards", "table-conf", "catalog-conf",
		"ignore-incompatible",
	}},
	{"Columns and keys", []string{
		"primary-keys", "sync-primary-keys-from-source-schema", "partition-keys", "multiple-table-partition-keys", "computed-column", "metadata-column", "type-mapping",
		"keyless",
	}},
	{"Changes of tables, and rows that cannot be read", []string{"rename-columns", "drop-columns", "on-bad-row", "dead-letter-table"}},
	{"The job", []string{"name", "catch-up", "fresh", "replace", "from", "rollback-tables", "reset-consumers", "set", "eager-init"}},
}

// syncUsage prints the flags by groups.
func syncUsage(c *cobra.Command) error {
	w := c.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n  %s\n\nExamples:\n%s\n", c.UseLine(), c.Example)
	seen := map[string]bool{}
	section := func(title string, set *pflag.FlagSet) {
		if set.HasAvailableFlags() {
			// Flags that may be given several times are marked in the width of their type.
			fmt.Fprintf(w, "\n%s:\n%s", title, strings.ReplaceAll(set.FlagUsages(), " stringArray", " string ... "))
		}
	}
	own := c.LocalNonPersistentFlags()
	for _, g := range syncGroups {
		set := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range g.flags {
			if f := own.Lookup(name); f != nil {
				seen[f.Name] = true
				set.AddFlag(f)
			}
		}
		section(g.title, set)
	}
	rest := pflag.NewFlagSet("others", pflag.ContinueOnError)
	own.VisitAll(func(f *pflag.Flag) {
		if !seen[f.Name] {
			rest.AddFlag(f)
		}
	})
	section("Others", rest)
	section("For all commands", c.InheritedFlags())
	return nil
}

package configs

import (
	_ "embed"
	"strings"
	"sync"
)

// known.tsv lists the options of Flink 1.20 and 2.0 and of Paimon 1.3 by scope
// (session, table, catalog) with type and default.
//
//go:embed known.tsv
var knownTSV string

var knownByScope = sync.OnceValue(func() map[string]map[string]Known {
	m := map[string]map[string]Known{}
	for line := range strings.Lines(knownTSV) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) != 4 || f[0] == "scope" {
			continue
		}
		if m[f[0]] == nil {
			m[f[0]] = map[string]Known{}
		}
		m[f[0]][f[1]] = Known{Type: f[2], Default: f[3]}
	}
	return m
})

func known(scope string) map[string]Known { return knownByScope()[scope] }

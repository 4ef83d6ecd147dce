package connect

import (
	"slices"

	"leat/configs"
)

// Registry is the set of connectors a process has.
type Registry struct{ byName map[string]Connector }

// NewRegistry makes a registry of the given connectors.
func NewRegistry(list ...Connector) *Registry {
	r := &Registry{byName: make(map[string]Connector, len(list))}
	for _, c := range list {
		r.byName[c.Name()] = c
	}
	return r
}

// Get gives the connector called name.
func (r *Registry) Get(name string) (Connector, bool) {
	c, ok := r.byName[name]
	return c, ok
}

// Names lists the connectors in order.
func (r *Registry) Names() []string {
	n := make([]string, 0, len(r.byName))
	for k := range r.byName {
		n = append(n, k)
	}
	slices.Sort(n)
	return n
}

// Suggest gives the connector name nearest to name, "" if none is near.
func (r *Registry) Suggest(name string) string { return configs.Nearest(name, r.Names()) }

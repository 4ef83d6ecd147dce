package dataflow

import (
	"bytes"
	"encoding/json"
	"maps"
	"time"
)

// epochState is one epoch between trigger and commit.
type epochState struct {
	id                  CheckpointID
	triggered, injected time.Time
	states              []*SourceState
	// injections and acks count what is missing.
	injections, acks int
	// last says that no source reads on after this barrier.
	last bool
	// savepoint is what the checkpoint of this epoch was triggered for, nil for none.
	savepoint   *SavepointRequest
	values      [][]json.RawMessage
	rows, bytes int64
}

// checkpoint gives the entry of the current checkpoint, without what the sinks observe.
func (p *protocol) checkpoint() *Checkpoint {
	c := &Checkpoint{ID: p.cur.id, Sources: map[string]SourceState{}, Sinks: map[string]SinkRecord{}}
	if r := p.cur.savepoint; r != nil {
		c.Savepoint = &r.SavepointRef
	}
	for i, s := range p.cur.states {
		c.Sources[p.sources[i]] = *s
	}
	for i, s := range p.sinks {
		var r SinkRecord
		for _, e := range p.epochs {
			r.Epochs = append(r.Epochs, Epoch{ID: e.id, Properties: p.properties(e, s), Committables: e.values[i]})
		}
		c.Sinks[s.uid] = r
	}
	return c
}

// properties joins the positions of the sources that feed s. Where two of them
// use one key for different values, the key is followed by the uid of its source.
func (p *protocol) properties(e *epochState, s sinkShape) map[string]string {
	out, clash := map[string]string{}, map[string]bool{}
	for _, i := range s.sources {
		for k, v := range e.states[i].Properties {
			if old, ok := out[k]; ok && old != v {
				clash[k] = true
			}
			out[k] = v
		}
	}
	for _, i := range s.sources {
		for k, v := range e.states[i].Properties {
			if clash[k] {
				out[k+"."+p.sources[i]] = v
				delete(out, k)
			}
		}
	}
	return out
}

func sameStates(a, b map[string]SourceState) bool {
	return maps.EqualFunc(a, b, func(x, y SourceState) bool {
		return bytes.Equal(x.Data, y.Data) && maps.Equal(x.Properties, y.Properties)
	})
}

func carriesCommittables(c *Checkpoint) bool {
	for _, s := range c.Sinks {
		for _, e := range s.Epochs {
			for _, v := range e.Committables {
				if !emptyCommittable(v) {
					return true
				}
			}
		}
	}
	return false
}

func emptyCommittable(v json.RawMessage) bool {
	switch string(bytes.TrimSpace(v)) {
	case "", "null", "[]":
		return true
	}
	return false
}

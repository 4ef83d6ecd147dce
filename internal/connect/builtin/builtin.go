package builtin

import (
	"sync"

	"leat/internal/connect"
	"leat/internal/connect/blackhole"
	"leat/internal/connect/datagen"
	"leat/internal/connect/mysqlcdc"
	"leat/internal/connect/paimon"
	"leat/internal/connect/print"
)

// All gives the connectors that a session table may name.
func All() *connect.Registry {
	return connect.NewRegistry(mysqlcdc.New(), datagen.New(), print.New(), blackhole.New())
}

// Lake gives the connector of lake tables; one a process, as its tables share memory and workers.
var Lake = sync.OnceValue(func() connect.SinkConnector { return paimon.New() })

// Package connect is the contract between the planner, the job and the
// connectors, and their explicit registry.
//
// A connector declares its WITH options once (configs.Set) and makes sources or
// sinks from table definitions whose options were already checked against that
// declaration. Connectors never see SQL. internal/connect/builtin lists all of
// them. Start with connector.go.
package connect

// Package builtin is the explicit list of the connectors that leat has.
package builtin

// Package blackhole is the sink that takes every change and keeps nothing, for
// measuring sources. Start with blackhole.go.
package blackhole

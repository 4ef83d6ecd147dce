// Package writers tests several writers of one table at the same time: leat
// processes, writers of this process and the real Paimon library. Start with
// compete_test.go.
package writers

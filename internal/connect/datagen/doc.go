// Package datagen is the source that makes rows up: random values, or sequences
// that end.
//
// The value of a column in row n follows from the seed of the job, the column
// and n alone. A checkpoint stores the seed and the number of rows, so that a
// job that resumes makes exactly the rows that are missing.
//
// Start with connector.go (options), then source.go (pace and state) and
// field.go (values).
package datagen

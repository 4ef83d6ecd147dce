package local

// Wrap is wrap, for tests of the error texts.
var Wrap = wrap

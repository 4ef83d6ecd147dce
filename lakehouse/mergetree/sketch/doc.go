// Package sketch unites serialized sets: what the aggregate functions rbm32,
// rbm64, theta_sketch and hll_sketch of a table do to the values of a key.
//
// A Union takes at least two values in order, oldest first, and gives one that
// Paimon's functions of that name read, and give, on the same values:
// Bitmap32 the portable form of RoaringBitmap, Bitmap64 that of Java's
// Roaring64Bitmap (a radix tree over the upper 48 bits, which the portable
// 64-bit form is not), Theta a compact sketch and HLL a compact sketch of four
// bits a register, both of Apache DataSketches.
//
// Theta and HLL give the bytes that Java gives. A bitmap has several forms of
// the same set; which one Java writes depends on how the set came about, so the
// bitmaps given here are equal to Java's as sets.
//
// Values come from files: damaged ones are errors, never panics. Start with
// bitmap.go, theta.go and hll.go.
package sketch

// Union gives the union of values, of which there are at least two.
type Union func(values [][]byte) ([]byte, error)

package lakehouse

// OpenBuckets is the number of buckets the writer remembers.
func (w *Writer) OpenBuckets() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.buckets)
}

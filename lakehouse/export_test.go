package lakehouse

// OpenBuckets is the number of buckets the writer remembers.
func (w *Writer) OpenBuckets() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.buckets)
}

// HoldCompactions keeps compactions of the pool from beginning until release is called.
func (p *WorkPool) HoldCompactions() (release func()) {
	n := cap(p.compact)
	for range n {
		p.compact <- struct{}{}
	}
	return func() {
		for range n {
			<-p.compact
		}
	}
}

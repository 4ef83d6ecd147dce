package soak

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// proxy is the address that the job connects to. It can cut what is open, and
// keep new connections waiting.
type proxy struct {
	listener net.Listener
	target   string
	mu       sync.Mutex
	open     []net.Conn
	until    time.Time // new connections wait until then
}

func startProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target}
	t.Cleanup(func() {
		_ = l.Close()
		p.cut(0)
	})
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(in)
		}
	}()
	return p
}

func (p *proxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

func (p *proxy) serve(in net.Conn) {
	p.mu.Lock()
	wait := time.Until(p.until)
	p.mu.Unlock()
	time.Sleep(wait)
	out, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = in.Close()
		return
	}
	p.mu.Lock()
	p.open = append(p.open, in, out)
	p.mu.Unlock()
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_ = to.Close()
		_ = from.Close()
	}
	go pipe(in, out)
	pipe(out, in)
}

// wait sets how long new connections wait from now on.
func (p *proxy) wait(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = time.Now().Add(d)
}

// cut breaks all connections; new ones wait for a while.
func (p *proxy) cut(wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = time.Now().Add(wait)
	for _, c := range p.open {
		_ = c.Close()
	}
	p.open = nil
}

// accident is what happens at a moment of the round.
type accident struct {
	name  string
	after time.Duration
	// server says that the server ends.
	server bool
	run    func(x *round)
}

// drawAccidents lists what happens in a round of a length.
func drawAccidents(r *rand.Rand, length time.Duration, crashes bool) []accident {
	var list []accident
	add := func(name string, weight int, run func(x *round)) {
		for range weight {
			list = append(list, accident{name: name, server: strings.Contains(name, "server") || strings.Contains(name, "both"), run: run})
		}
	}
	pause := func() time.Duration { return time.Duration(r.IntN(400)) * time.Millisecond }
	wait, down, hold := pause(), pause(), pause()
	add("kill of the job", 5, func(x *round) {
		x.child.Kill()
		time.Sleep(wait)
		x.start()
	})
	add("stop of the job", 2, func(x *round) {
		x.stop()
		time.Sleep(wait)
		x.start()
	})
	add("cut", 3, func(x *round) { x.proxy.cut(hold) })
	add("new binlog file", 2, func(x *round) { _ = x.server().Exec(x.flush) })
	add("restart of the server", 1, func(x *round) { x.restart(false, down) })
	if crashes {
		add("crash of the server", 2, func(x *round) { x.restart(true, down) })
		add("crash of both", 1, func(x *round) {
			x.child.Kill()
			x.restart(true, down)
			x.start()
		})
	}
	var out []accident
	servers := 0
	for range 2 + r.IntN(6) {
		a := list[r.IntN(len(list))]
		if a.server {
			if servers++; servers > 2 { // starts take seconds
				a = list[0]
			}
		}
		a.after = time.Duration(r.Int64N(int64(length) / 4))
		out = append(out, a)
	}
	return out
}

func (a accident) String() string {
	return fmt.Sprintf("%s after %s", a.name, a.after.Round(time.Millisecond))
}

package job

import (
	"time"

	"leat/configs"
	"leat/internal/diag"
)

// restarts is a restart strategy with its count.
type restarts struct {
	attempts int64
	delay    time.Duration
	used     int64
}

func newRestarts(v configs.Values) *restarts {
	switch configs.RestartStrategy.Get(v) {
	case "none", "off", "disable":
		return &restarts{}
	}
	return &restarts{attempts: configs.RestartAttempts.Get(v), delay: configs.RestartDelay.Get(v)}
}

// next says whether to restart after err, and after which pause. Only failures
// that may pass without anybody's help are restarted.
func (r *restarts) next(err error) (time.Duration, bool) {
	if !diag.Retryable(err) || r.used >= r.attempts {
		return 0, false
	}
	r.used++
	return r.delay, true
}

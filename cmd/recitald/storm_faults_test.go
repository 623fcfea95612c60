package main_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/stretchr/testify/require"
)

// fault is a temporary failure of a part.
type fault struct {
	name  string
	begin func(r *rand.Rand) remedy
}

// remedy ends a fault. All faults are healed before any part is started.
type remedy struct{ heal, start func() }

// signal sends a signal to processes, which may have ended.
func signal(signal syscall.Signal, pids ...int) {
	for _, pid := range pids {
		if pid > 1 { // 0 would be this process's group
			_ = syscall.Kill(pid, signal)
		}
	}
}

func killing(part string, pids func(*rand.Rand) []int) fault {
	return fault{part + " is killed", func(r *rand.Rand) remedy {
		signal(syscall.SIGKILL, pids(r)...)
		return remedy{}
	}}
}

func freezing(part string, pids func(*rand.Rand) []int) fault {
	return fault{part + " is frozen", func(r *rand.Rand) remedy {
		stopped := pids(r)
		signal(syscall.SIGSTOP, stopped...)
		return remedy{heal: func() { signal(syscall.SIGCONT, stopped...) }}
	}}
}

func ofRecitald(i *instance) []fault {
	worker := func(r *rand.Rand) []int {
		workers := i.server().speechWorkers()
		if len(workers) == 0 {
			return nil
		}
		return []int{workers[r.IntN(len(workers))].pid}
	}
	neural := func(r *rand.Rand) []int {
		workers := i.server().neuralWorkers()
		if len(workers) == 0 {
			return nil
		}
		return []int{workers[r.IntN(len(workers))].pid}
	}
	return []fault{
		killing("a neural worker of "+i.name, neural),
		freezing("a neural worker of "+i.name, neural),
		{i.name + " is killed", func(*rand.Rand) remedy {
			i.server().kill()
			return remedy{start: i.start}
		}},
		freezing(i.name, func(*rand.Rand) []int { return []int{i.server().command.Process.Pid} }),
		killing("a worker of "+i.name, worker),
		freezing("a worker of "+i.name, worker),
	}
}

// postmasterIn returns the main process of a private Postgres, or 0 if there is none.
func postmasterIn(data string) int {
	content, _ := os.ReadFile(filepath.Join(data, "postgres", "data", "postmaster.pid"))
	first, _, _ := strings.Cut(string(content), "\n")
	pid, _ := strconv.Atoi(first)
	if p, found := readProcess(pid); !found || !strings.Contains(p.args[0], "postgres") {
		return 0
	}
	return pid
}

func ofPostgres(postmaster func() int) []fault {
	return []fault{
		freezing("Postgres", func(*rand.Rand) []int {
			pids := []int{postmaster()}
			for _, p := range childrenOf(pids[0]) {
				pids = append(pids, p.pid)
			}
			return pids
		}),
		killing("a backend of Postgres", func(r *rand.Rand) []int { // Postgres then ends all others, too
			var backends []int
			for _, p := range childrenOf(postmaster()) {
				if strings.Contains(p.args[0], "[local]") {
					backends = append(backends, p.pid)
				}
			}
			if len(backends) == 0 {
				return nil
			}
			return backends[r.IntN(len(backends)):][:1]
		}),
	}
}

func (n *stormNode) faults() []fault {
	return append(slowing(n.t, n.link, "the event node"), []fault{
		{"the event node is killed", func(*rand.Rand) remedy {
			n.kill()
			return remedy{start: n.start}
		}},
		freezing("the event node", func(*rand.Rand) []int { return []int{n.process.Process.Pid} }),
	}...)
}

// slowing makes the link to a part slow, or cuts it.
func slowing(t *testing.T, link *toxiproxy.Proxy, part string) []fault {
	slow := func(kind, attributes string) fault {
		return fault{"the link to " + part + " is slow: " + kind, func(*rand.Rand) remedy {
			for _, direction := range []string{"upstream", "downstream"} {
				toxic := `{"name": "` + kind + direction + `", "type": "` + kind + `", "stream": "` + direction +
					`", "attributes": ` + attributes + `}`
				_, err := link.Toxics.AddToxicJson(strings.NewReader(toxic))
				require.NoError(t, err)
			}
			return remedy{heal: func() { link.Toxics.ResetToxics(t.Context()) }}
		}}
	}
	return []fault{
		slow("latency", `{"latency": 150, "jitter": 100}`),
		slow("bandwidth", `{"rate": 20}`), // KB/s
		{"the link to " + part + " is cut", func(*rand.Rand) remedy {
			link.Stop()
			return remedy{heal: func() { require.NoError(t, link.Start()) }}
		}},
	}
}

func (d *tightDisk) faults() []fault {
	if d == nil {
		return nil
	}
	return []fault{{"the disk of the log is full", func(*rand.Rand) remedy {
		d.fill()
		return remedy{heal: d.empty}
	}}}
}

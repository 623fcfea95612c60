package codec

// PIDs returns the ids of the live processes.
func (p *Pool) PIDs() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var pids []int
	for _, proc := range p.procs {
		pids = append(pids, proc.worker.PID())
	}
	return pids
}

package installed

import "github.com/recital-tts/recital/internal/speech/worker"

// Stats are figures for metrics, of all voices together.
type Stats struct {
	worker.Stats        // of the processes, including ended ones
	Voices       int    // running voices
	Places       int    // concurrent streams that the voices sustain
	Streams      int    // streams with a place
	Waiting      int    // streams that wait for a place
	Streamed     uint64 // streams that got a place
	Refused      uint64 // streams that got no place in time
	Substituted  uint64 // streams in which another voice spoke
	PassedOn     uint64 // streams that system voices spoke instead, for lack of a place
}

// Stats returns the figures.
func (e *Engines) Stats() Stats {
	e.mu.RLock()
	defer e.mu.RUnlock()
	s := Stats{
		Stats: e.ended, Voices: len(e.engines), Waiting: int(e.waiting.Load()), Streamed: e.streamed.Load(),
		Refused: e.refused.Load(), Substituted: e.substituted.Load(), PassedOn: e.passedOn.Load(),
	}
	s.Streams, s.Places = e.places.inUse()
	for _, running := range e.models {
		now := running.pool.Stats()
		s.Stats = counted(s.Stats, now)
		s.Size, s.Alive, s.Busy, s.Queued = s.Size+now.Size, s.Alive+now.Alive, s.Busy+now.Busy, s.Queued+now.Queued
	}
	return s
}

// Substituted implements speech.InstalledEngines.
func (e *Engines) Substituted() { e.substituted.Add(1) }

// counted returns the sums of the counters.
func counted(a, b worker.Stats) worker.Stats {
	a.Jobs, a.Failed, a.Respawns = a.Jobs+b.Jobs, a.Failed+b.Failed, a.Respawns+b.Respawns
	a.Samples, a.BusyTime = a.Samples+b.Samples, a.BusyTime+b.BusyTime
	return a
}

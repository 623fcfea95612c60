package speech

// Voice is a system voice: a variant of the engine that is on the allow-list.
type Voice struct {
	ID          string // what clients send, such as "leah"
	Name        string
	Gender      string // F, M or U
	Description string
	Variant     string // of espeak-ng, such as "f2"; never anything that a client sent
}

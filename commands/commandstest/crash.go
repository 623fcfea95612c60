package commandstest

// Sides returns whether a process that dies at a change does so after it. Dying before a change leaves what dying after
// the one before it leaves, so only the first change has both sides.
func Sides(at int) (after []bool) {
	if at == 1 {
		return []bool{false, true}
	}
	return []bool{true}
}

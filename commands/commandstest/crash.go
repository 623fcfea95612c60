package commandstest

// Sides returns the values of after for a crash at a change: before it, after it, or both. A crash before a change
// equals a crash after the previous one, so only the first change has both sides.
func Sides(at int) (after []bool) {
	if at == 1 {
		return []bool{false, true}
	}
	return []bool{true}
}

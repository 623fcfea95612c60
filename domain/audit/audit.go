// Package audit holds what auditing adds to the log: that personal data was read, and by whom; and signed statements
// about the log itself.
package audit

// Event is one of the events of this package.
type Event interface{ auditEvent() }

// Package audit defines the events of auditing: reads of personal data with their readers, acts of operators, and
// signed statements about the log itself.
package audit

// Event is one of the events of this package.
type Event interface{ auditEvent() }

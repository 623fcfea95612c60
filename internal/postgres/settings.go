package postgres

// Settings are the server's options. They stand on the command line, not in a file, so that a server which an earlier
// recitald left behind can be compared with what is wanted now.
func Settings(data, socketDir string) []string {
	args := []string{"-D", data}
	for _, setting := range []string{
		"listen_addresses=", // the unix socket alone
		"unix_socket_directories=" + socketDir,
		"unix_socket_permissions=0700",
		"fsync=on",
		"full_page_writes=on",
		"synchronous_commit=on", // projections switch it off, each transaction for itself
		"max_connections=200",
		"shared_buffers=128MB",
		"timezone=UTC",
		"log_timezone=UTC",
		"cluster_name=recital",
		"jit=off", // pays only for long analytical queries
		// Texts of failed statements hold values that clients sent: only messages of the server itself are logged.
		"log_min_messages=log",
		"log_min_error_statement=panic",
		"log_error_verbosity=terse",
		"log_checkpoints=off",
		"log_line_prefix=",
		"logging_collector=off",
	} {
		args = append(args, "-c", setting)
	}
	return args
}

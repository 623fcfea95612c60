package postgres

// Settings returns the server's options. They are on the command line, not in a file, so that those of a server which
// an earlier recitald left behind can be compared with the current ones.
func Settings(data, socketDir string) []string {
	args := []string{"-D", data}
	for _, setting := range []string{
		"listen_addresses=", // only the unix socket
		"unix_socket_directories=" + socketDir,
		"unix_socket_permissions=0700",
		"fsync=on",
		"full_page_writes=on",
		"synchronous_commit=on", // projections disable it per transaction
		"max_connections=200",
		"shared_buffers=128MB",
		"timezone=UTC",
		"log_timezone=UTC",
		"cluster_name=recital",
		"jit=off", // pays only for long analytical queries
		// Texts of failed statements contain values from clients: only messages of the server itself are logged.
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

package audit

// EntriesQuery returns the query of a page of entries of an area, by account and kind.
func EntriesQuery(area, account, kind string) (sql string, arguments []any) {
	query, arguments := filter{area: area, accounts: []string{account}, kind: kind, limit: 100}.query()
	return query.SQL, arguments
}

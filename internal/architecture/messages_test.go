package architecture_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A message to a client begins with a capital letter and ends without a full stop.
func TestMessagesToClientsReadAlike(t *testing.T) {
	found := 0
	for _, m := range messages(t) {
		found++
		assert.Regexp(t, beginsWell, m.begins, "%s: the message must begin with a capital letter", m.position)
		assert.NotRegexp(t, endsInStop, m.ends, "%s: the message must end without a full stop", m.position)
	}
	require.Greater(t, found, 50, "the messages were not found")
}

func TestMessagesAreFound(t *testing.T) {
	for source, want := range map[string][2]string{
		`domain.Refuse(domain.Invalid, "a wrong one.")`:                              {"a wrong one.", "a wrong one."},
		`domain.Refuse(code, fmt.Sprintf("%d is "+"too much", n))`:                   {"%d is ", "too much"},
		`Refuse(Denied, "Not you")`:                                                  {"Not you", "Not you"},
		`&web.Error{Status: 404, Message: "No " + name + "."}`:                       {"No ", "."},
		`[]any{&Error{Message: "the end"}}`:                                          {"the end", "the end"},
		`web.TooManyRequests("The plan permits "+strconv.Itoa(n)+" at once", pause)`: {"The plan permits ", " at once"},
		`answer{status: 503, message: "The server"}`:                                 {"The server", "The server"},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nvar _ = "+source, 0)
		require.NoError(t, err)
		got := messagesOf(file)
		require.Len(t, got, 1, source)
		begins, _ := firstText(got[0])
		ends, _ := lastText(got[0])
		require.Equal(t, want, [2]string{begins, ends}, source)
	}
}

var (
	beginsWell = regexp.MustCompile(`^[A-Z]`)
	endsInStop = regexp.MustCompile(`\.\s*$`)
)

type message struct{ begins, ends, position string }

// messages returns the messages to clients in the code. A beginning or end that is a variable is not checked.
func messages(t *testing.T) (all []message) {
	t.Helper()
	files := token.NewFileSet()
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, e := range messagesOf(file) {
			m := message{begins: "A", position: files.Position(e.Pos()).String()}
			if text, ok := firstText(e); ok {
				m.begins = text
			}
			if text, ok := lastText(e); ok {
				m.ends = text
			}
			all = append(all, m)
		}
		return nil
	}))
	return all
}

// messagesOf returns a file's expressions for messages: arguments of Refuse and TooManyRequests, and the field Message
// of an Error.
func messagesOf(file *ast.File) (found []ast.Expr) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			switch name := nameOf(n.Fun); {
			case name == "Refuse" && len(n.Args) == 2:
				found = append(found, n.Args[1])
			case name == "TooManyRequests" && len(n.Args) == 2:
				found = append(found, n.Args[0])
			}
		case *ast.CompositeLit:
			if name := nameOf(n.Type); name != "Error" && name != "answer" {
				break
			}
			for _, element := range n.Elts {
				if pair, ok := element.(*ast.KeyValueExpr); ok && strings.EqualFold(nameOf(pair.Key), "message") {
					found = append(found, pair.Value)
				}
			}
		}
		return true
	})
	return found
}

// nameOf returns the name of a function, type or field, without its package.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// firstText returns the literal that an expression begins with.
func firstText(e ast.Expr) (string, bool) {
	return edgeText(e, func(b *ast.BinaryExpr) ast.Expr { return b.X })
}

// lastText returns the literal that an expression ends with.
func lastText(e ast.Expr) (string, bool) {
	return edgeText(e, func(b *ast.BinaryExpr) ast.Expr { return b.Y })
}

func edgeText(e ast.Expr, side func(*ast.BinaryExpr) ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		return edgeText(side(e), side)
	case *ast.CallExpr:
		if nameOf(e.Fun) == "Sprintf" {
			return edgeText(e.Args[0], side)
		}
	}
	return "", false
}

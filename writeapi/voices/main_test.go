package voices

import (
	"testing"

	"github.com/recital-tts/recital/internal/http/web/webtest"
)

func TestMain(m *testing.M) { webtest.Main(m) }

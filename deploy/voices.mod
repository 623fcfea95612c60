module github.com/recital-tts/recital

go 1.26.0

// A voice of Piper's, which make voices fetches; nothing imports it.
require github.com/amitybell/piper-voice-jenny v0.0.0-20231030195502-2afb5ebf3c45

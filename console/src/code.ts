// Programs that make a sound with the current settings.
import { extensions, order, service, type Settings } from './speech'

export type Language = 'curl' | 'Go' | 'Node' | 'Python'
export const languages: Language[] = ['curl', 'Go', 'Node', 'Python']

export function program(language: Language, settings: Settings, format: string): string {
  const body = order(settings, format)
  const address = service() + '/v1/ai/speech/bytes'
  return { curl, Go: golang, Node: node, Python: python }[language](address, body, 'speech.' + extensions[format])
}

type Body = Record<string, unknown>

// inShell quotes for a POSIX shell, where only the quote itself ends a quoted text.
const inShell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

const curl = (address: string, body: Body, file: string) => `curl -sS --fail-with-body ${inShell(address)} \\
  -H "x-api-key: $RECITAL_API_KEY" \\
  -H 'content-type: application/json' \\
  -d ${inShell(JSON.stringify(body))} \\
  -o ${file}
`

// quoted returns JSON in ASCII, which is also a string literal in Go, JavaScript and Python.
const quoted = (text: string) => JSON.stringify(text).replace(/[\u007f-\uffff]/g,
  unit => '\\u' + unit.charCodeAt(0).toString(16).padStart(4, '0'))

// inGo quotes by code points, because Go refuses halves of surrogate pairs.
const inGo = (text: string) => '"' + [...text].map(point => {
  const code = point.codePointAt(0)!
  if (code < 0x7f) return JSON.stringify(point).slice(1, -1)
  return code > 0xffff ? '\\U' + code.toString(16).padStart(8, '0')
    : code >= 0xd800 && code < 0xe000 ? '\\ufffd' : '\\u' + code.toString(16).padStart(4, '0')
}).join('') + '"'

// inPython quotes by code points, because Python would not join halves of surrogate pairs.
const inPython = (text: string) => inGo(text)

const entries = (body: Body, quote: (text: string) => string, indent: string) =>
  Object.entries(body).map(([name, value]) =>
    `${indent}"${name}": ${typeof value === 'string' ? quote(value) : String(value)},`).join('\n')

const golang = (address: string, body: Body, file: string) => `package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	body, err := json.Marshal(map[string]any{
${entries(body, inGo, '\t\t')}
	})
	if err != nil {
		log.Fatal(err)
	}
	request, err := http.NewRequest("POST", ${inGo(address)}, bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("x-api-key", os.Getenv("RECITAL_API_KEY"))
	request.Header.Set("content-type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		log.Fatal(response.Status)
	}
	out, err := os.Create("${file}")
	if err != nil {
		log.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, response.Body); err != nil {
		log.Fatal(err)
	}
}
`

const node = (address: string, body: Body, file: string) => `import { writeFile } from "node:fs/promises"

const response = await fetch(${quoted(address)}, {
  method: "POST",
  headers: {
    "x-api-key": process.env.RECITAL_API_KEY,
    "content-type": "application/json",
  },
  body: JSON.stringify({
${entries(body, quoted, '    ')}
  }),
})
if (!response.ok) throw new Error(await response.text())
await writeFile("${file}", response.body)
`

const python = (address: string, body: Body, file: string) => `import json, os, urllib.request

request = urllib.request.Request(
    ${inPython(address)},
    data=json.dumps({
${entries(body, inPython, '        ')}
    }).encode(),
    headers={
        "x-api-key": os.environ["RECITAL_API_KEY"],
        "content-type": "application/json",
    },
)
with urllib.request.urlopen(request) as response, open("${file}", "wb") as out:
    while chunk := response.read(65536):
        out.write(chunk)
`

module story

go 1.25.0

require github.com/ogen-go/ogen v1.24.0

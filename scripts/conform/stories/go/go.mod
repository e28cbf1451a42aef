module story

go 1.24

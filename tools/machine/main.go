// The only program of the images that the sandbox's cluster runs.
//
// It prints the architecture that it was built for and the one that `uname -m` shows. Then it waits until it is told to
// end, or, with the argument "once", ends.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	var name syscall.Utsname
	if err := syscall.Uname(&name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("program %s, machine %s\n", runtime.GOARCH, text(name.Machine))
	if len(os.Args) > 1 && os.Args[1] == "once" {
		return
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGINT, syscall.SIGTERM)
	<-told
}

// text takes numbers of either sign: the type of the field is not the same on all architectures.
func text[number int8 | uint8](field [65]number) string {
	var bytes []byte
	for _, each := range field {
		if each == 0 {
			break
		}
		bytes = append(bytes, byte(each))
	}
	return string(bytes)
}

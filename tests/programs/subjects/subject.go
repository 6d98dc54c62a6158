// Go and C together: blocks of C from goroutines, C's threads that call Go, signals, children, and the collector beside them.
package main

/*
#cgo LDFLAGS: -lpthread
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern void fromC(uintptr_t n);

static void *call(void *rounds)
{
    for (uintptr_t i = 0; i < (uintptr_t)rounds; i++) {
        char *block = malloc(100 + i % 1000);
        memset(block, 1, 100);
        fromC(block[99]);
        free(block);
    }
    return NULL;
}

static int threads(int n, uintptr_t rounds)
{
    pthread_t thread[32];
    for (int i = 0; i < n; i++)
        if (pthread_create(&thread[i], NULL, call, (void *)rounds)) return -1;
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    return n;
}
*/
import "C"

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

var number int

func told(name string, good bool) {
	number++
	if good {
		fmt.Printf("ok %d - %s\n", number, name)
	} else {
		fmt.Printf("not ok %d - %s\n", number, name)
	}
}

var calls int64

//export fromC
func fromC(n C.uintptr_t) { atomic.AddInt64(&calls, int64(n)) }

// Blocks of C that another goroutine, on whichever thread, frees.
func handedOver() bool {
	blocks := make(chan unsafe.Pointer, 1000)
	var makers sync.WaitGroup
	for g := 0; g < 8; g++ {
		makers.Add(1)
		go func(g int) {
			defer makers.Done()
			for i := 0; i < 5000; i++ {
				block := C.malloc(C.size_t(8 + i%2000))
				*(*int64)(block) = int64(g * i)
				blocks <- block
			}
		}(g)
	}
	go func() { makers.Wait(); close(blocks) }()
	var sum int64
	for block := range blocks {
		sum += *(*int64)(block)
		C.free(block)
	}
	return sum == 28*4999*5000/2
}

func collected() bool {
	kept := map[int]string{}
	for i := 0; i < 300000; i++ {
		kept[i%5000] = fmt.Sprint("value ", i)
		if i%100000 == 0 {
			runtime.GC()
		}
	}
	return len(kept) == 5000 && kept[4999] == "value 299999"
}

func strings() bool {
	for i := 0; i < 20000; i++ {
		text := fmt.Sprint("text ", i)
		c := C.CString(text)
		back := C.GoString(c)
		C.free(unsafe.Pointer(c))
		if back != text {
			return false
		}
	}
	return true
}

func signals() bool {
	got := make(chan os.Signal, 100)
	signal.Notify(got, syscall.SIGUSR1)
	for i := 0; i < 50; i++ {
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		if <-got != syscall.SIGUSR1 {
			return false
		}
	}
	return true
}

func children() bool {
	for i := 0; i < 20; i++ {
		out, err := exec.Command("/bin/sh", "-c", "echo child; exit 7").CombinedOutput()
		if failed, is := err.(*exec.ExitError); !is || failed.ExitCode() != 7 || string(out) != "child\n" {
			return false
		}
	}
	return true
}

func main() {
	told("blocks that another goroutine frees", handedOver())
	told("threads of C that call Go", C.threads(8, 2000) == 8 && atomic.LoadInt64(&calls) == 8*2000)
	told("strings", strings())
	told("the collector", collected())
	told("signals", signals())
	told("children", children())
}

//! Threads, collections and children of Rust, over an allocator of the program's own that counts what goes through it.
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::{BTreeMap, HashMap};
use std::process::Command;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

struct Counted;

static BYTES: AtomicIsize = AtomicIsize::new(0);
static MOVED: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as isize, Relaxed);
        System.alloc(layout)
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as isize, Relaxed);
        System.alloc_zeroed(layout)
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        BYTES.fetch_add(size as isize - layout.size() as isize, Relaxed);
        MOVED.fetch_add(1, Relaxed);
        System.realloc(block, layout, size)
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as isize, Relaxed);
        System.dealloc(block, layout)
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

static NUMBER: AtomicUsize = AtomicUsize::new(0);

fn told(name: &str, good: bool) {
    println!("{}ok {} - {}", if good { "" } else { "not " }, NUMBER.fetch_add(1, Relaxed) + 1, name);
}

/// Blocks that one thread makes and another frees.
fn handed_over() -> bool {
    let (give, take) = mpsc::channel::<Vec<u64>>();
    let makers: Vec<_> = (0..4u64)
        .map(|t| {
            let give = give.clone();
            thread::spawn(move || (0..20_000u64).for_each(|i| give.send(vec![t * i; 1 + (i % 300) as usize]).unwrap()))
        })
        .collect();
    drop(give);
    let sum: u64 = take.iter().map(|v| v[v.len() - 1]).sum();
    makers.into_iter().for_each(|m| m.join().unwrap());
    sum == 6 * (0..20_000u64).sum::<u64>()
}

fn collections() -> bool {
    let mut hashed = HashMap::new();
    let mut sorted = BTreeMap::new();
    for i in 0..200_000u64 {
        hashed.insert(format!("key {i}"), i);
        sorted.insert(i * 7919 % 200_003, i.to_string());
    }
    for i in (0..200_000u64).step_by(2) {
        hashed.remove(&format!("key {i}"));
    }
    hashed.len() == 100_000 && sorted.len() == 200_000 && sorted.keys().zip(sorted.keys().skip(1)).all(|(a, b)| a < b)
}

#[repr(align(4096))]
struct Page([u8; 4096]);

fn aligned() -> bool {
    let pages: Vec<Box<Page>> = (0..2000).map(|i| Box::new(Page([i as u8; 4096]))).collect();
    pages.iter().enumerate().all(|(i, p)| std::ptr::from_ref(&**p) as usize % 4096 == 0 && p.0[4095] == i as u8)
}

fn grown() -> bool {
    let mut v = Vec::new();
    (0..4_000_000u32).for_each(|i| v.push(i));
    v.shrink_to_fit();
    v.iter().enumerate().all(|(i, n)| i == *n as usize) && MOVED.load(Relaxed) > 10
}

fn short_threads() -> bool {
    let sum = Arc::new(Mutex::new(0usize));
    for _ in 0..50 {
        let round: Vec<_> = (0..20)
            .map(|i| {
                let sum = sum.clone();
                thread::spawn(move || *sum.lock().unwrap() += vec![1u8; 1000 + i].len())
            })
            .collect();
        round.into_iter().for_each(|t| t.join().unwrap());
    }
    let total = *sum.lock().unwrap();
    total == 50 * (20 * 1000 + 190)
}

fn panics() -> bool {
    let panicked = thread::spawn(|| {
        let kept = vec![1u8; 100_000];
        if kept.len() > 1 {
            std::panic::resume_unwind(Box::new(kept.len()));
        }
    });
    panicked.join().unwrap_err().downcast_ref::<usize>() == Some(&100_000)
}

fn children() -> bool {
    (0..20).all(|i| {
        let done = Command::new("/bin/sh").arg("-c").arg(format!("echo child; exit {i}")).output().unwrap();
        done.stdout == b"child\n" && done.stderr.is_empty() && done.status.code() == Some(i)
    })
}

fn main() {
    told("blocks that another thread frees", handed_over());
    told("collections", collections());
    told("aligned blocks", aligned());
    let before = BYTES.load(Relaxed);
    told("a vector that grows", grown());
    told("threads that end", short_threads());
    told("a panic's memory comes back", panics());
    told("what was made is freed", (BYTES.load(Relaxed) - before).abs() < 100_000);
    told("children", children());
}

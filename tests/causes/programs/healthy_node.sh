# cause: none
# source: a healthy program
# host: yes
node -e "let a = []; for (let i = 0; i < 1e5; i++) { a[i % 1000] = { i, s: String(i) }; } console.log(a.length)"

/* A library that takes its place in the static TLS block, of which programs have little. */
static __thread char space[256] __attribute__((tls_model("initial-exec"), used));

int static_tls_sum(int value);
int static_tls_sum(int value)
{
    space[0] += (char)value;
    return space[0];
}

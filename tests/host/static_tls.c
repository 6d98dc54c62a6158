/* A library with initial-exec thread-local storage. Programs reserve little static TLS for such
 * libraries. */
static __thread char space[256] __attribute__((tls_model("initial-exec"), used));

int static_tls_sum(int value);
int static_tls_sum(int value)
{
    space[0] += (char)value;
    return space[0];
}

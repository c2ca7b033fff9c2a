/* Opens the library at run time, and prints its version if it has the ABI of the header. */
#include <decluster.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* ISO C has no way from an object pointer to a function pointer; POSIX lets the bytes be copied. */
static int find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);

    memcpy(function, &found, sizeof found);
    return found ? 0 : -1;
}

int main(int count, char **words)
{
    uint32_t (*abi_version)(void);
    const char *(*version)(void);
    void *library = count == 2 ? dlopen(words[1], RTLD_NOW) : NULL;

    if (!library || find(library, "decluster_abi_version", &abi_version) ||
        find(library, "decluster_version", &version)) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    if (abi_version() != DECLUSTER_ABI_VERSION)
        return 1;
    puts(version());
    return dlclose(library);
}

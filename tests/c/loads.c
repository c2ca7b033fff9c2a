/*
 * Loads and unloads the library again and again: `loads SONAME MODULE...`. Each module is one of
 * the test programs as a shared object, with `use_library()` in place of `main()`. Whatever the
 * library keeps for good is lost when it is unloaded, so that valgrind tells it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 3

/* What goes into a thread, and what it gave. */
struct use {
    int (*use_library)(void);
    int result;
};

static void *run(void *given) {
    struct use *use = (struct use *)given;
    use->result = use->use_library();
    return given;
}

/* In a thread that ends: until then a thread that has seen a panic keeps the library loaded. */
static int use(const char *module) {
    void *library = dlopen(module, RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, "use_library") : NULL;
    struct use use = {NULL, 1};
    pthread_t thread;
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    /* ISO C has no way from an object pointer to a function pointer; POSIX lets the bytes be
     * copied. */
    memcpy(&use.use_library, &found, sizeof found);
    if (pthread_create(&thread, NULL, run, &use) || pthread_join(thread, NULL)) return 1;
    return use.result || dlclose(library);
}

int main(int count, char **words) {
    int round, module;
    for (round = 0; round < ROUNDS; round++) {
        for (module = 2; module < count; module++) {
            if (use(words[module])) {
                fprintf(stderr, "loads: %s failed\n", words[module]);
                return 1;
            }
            if (dlopen(words[1], RTLD_NOW | RTLD_NOLOAD)) {
                fprintf(stderr, "loads: %s is still there\n", words[1]);
                return 1;
            }
        }
    }
    return 0;
}

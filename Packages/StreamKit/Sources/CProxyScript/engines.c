// The engines that run scripts: libraries that are loaded in the helper, if the machine has them.
//
// JavaScriptCore is maintained, and is the engine of Apple's CFNetwork. NETKIT_PAC_ENVIRONMENT gives it one thread, because a helper may
// start none, and ordinary memory, whose limit is that of the process; without that, it would reserve and may fill many gigabytes
// before the limit is set. What remains is a reservation of 4 GiB for the shapes of objects, taken from twice as much.
//
// libpacparser contains SpiderMonkey of 2007, which knows neither let nor arrow functions.
//
// The C library whose setenv is called is that of the engine: a program that is linked statically has one of its own.

#include "CProxyScript.h"
#include "helper.h"

#include <stdio.h>

#if defined(__linux__) && defined(__GLIBC__)

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

char netkit_pac_words[1024];

static size_t used;

static int print(const char *format, va_list arguments) {
    int count = vsnprintf(netkit_pac_words + used, sizeof netkit_pac_words - used, format, arguments);
    if (count > 0) used += (size_t)count < sizeof netkit_pac_words - used ? (size_t)count : sizeof netkit_pac_words - used - 1;
    return count;
}

static void forget_words(void) {
    used = 0;
    netkit_pac_words[0] = 0;
}

// A function of a library, and where its address goes.
struct symbol {
    const char *name;
    void **address;
};

// Loads the first library that is there, and the addresses of functions of it. Gives the library, or NULL.
static void *load(const char *const names[], const struct symbol *symbols, size_t count) {
    for (; *names; names++) {
        void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (!library) continue;
        size_t i = 0;
        while (i < count && (*symbols[i].address = dlsym(library, symbols[i].name))) i++;
        if (i == count) return library;
        dlclose(library);
    }
    return NULL;
}

// MARK: JavaScriptCore

static struct {
    void *(*create_group)(void);
    void *(*create_context)(void *group, void *class);
    void (*release_context)(void *context);
    void *(*global)(void *context);
    void *(*create_string)(const char *utf8);
    void (*release_string)(void *string);
    size_t (*maximum_size)(void *string);
    size_t (*copy_string)(void *string, char *buffer, size_t size);
    void *(*evaluate)(void *context, void *script, void *object, void *url, int line, void **exception);
    void *(*property)(void *context, void *object, void *name, void **exception);
    void *(*object_of)(void *context, void *value, void **exception);
    void *(*call)(void *context, void *function, void *object, size_t count, void *const values[], void **exception);
    void *(*value_of)(void *context, void *string);
    void *(*string_of)(void *context, void *value, void **exception);
    void (*disable_scavenger)(void);
} js;

static void *group, *context;
static char *answer;

// Copies the text of a value, or NULL.
static char *js_text(void *value) {
    void *exception = NULL, *string = js.string_of(context, value, &exception);
    if (!string) return NULL;
    size_t size = js.maximum_size(string);
    char *text = malloc(size);
    if (text) js.copy_string(string, text, size);
    js.release_string(string);
    return text;
}

static void js_explain(void *exception) {
    char *text = js_text(exception);
    snprintf(netkit_pac_words, sizeof netkit_pac_words, "%s", text ? text : "");
    free(text);
}

// Gives the result, or NULL with the words of the exception.
static void *js_run(const char *text) {
    void *exception = NULL, *script = js.create_string(text);
    void *result = js.evaluate(context, script, NULL, NULL, 1, &exception);
    js.release_string(script);
    if (!result) js_explain(exception);
    return result;
}

static int js_begin(void) {
    forget_words();
    context = js.create_context(group, NULL);
    return context != NULL;
}

static int js_evaluate(const char *text) {
    forget_words();
    return js_run(text) != NULL;
}

static const char *js_call(const char *function, const char *url, const char *host) {
    forget_words();
    void *exception = NULL, *name = js.create_string(function);
    void *value = js.property(context, js.global(context), name, &exception);
    js.release_string(name);
    void *object = value ? js.object_of(context, value, &exception) : NULL;
    if (!object) return NULL;
    void *strings[] = {js.create_string(url), js.create_string(host)};
    void *values[] = {js.value_of(context, strings[0]), js.value_of(context, strings[1])};
    exception = NULL;
    value = js.call(context, object, NULL, 2, values, &exception);
    for (int i = 0; i < 2; i++) js.release_string(strings[i]);
    if (!value) {
        js_explain(exception);
        return NULL;
    }
    free(answer);
    return answer = js_text(value);
}

static void js_end(void) { js.release_context(context); }

// Whether the engine can reserve what it needs: the user's limit of address space, and the system's rules, may forbid it.
static int js_has_space(void) {
    const size_t size = 10ul << 30;
    void *space = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return 0;
    munmap(space, size);
    return 1;
}

static int js_load(struct netkit_pac_engine *engine) {
    static const char *const names[] = {
        "libjavascriptcoregtk-6.0.so.1", "libjavascriptcoregtk-4.1.so.0", "libjavascriptcoregtk-4.0.so.18", NULL};
    const struct symbol symbols[] = {
        {"JSContextGroupCreate", (void **)&js.create_group},
        {"JSGlobalContextCreateInGroup", (void **)&js.create_context},
        {"JSGlobalContextRelease", (void **)&js.release_context},
        {"JSContextGetGlobalObject", (void **)&js.global},
        {"JSStringCreateWithUTF8CString", (void **)&js.create_string},
        {"JSStringRelease", (void **)&js.release_string},
        {"JSStringGetMaximumUTF8CStringSize", (void **)&js.maximum_size},
        {"JSStringGetUTF8CString", (void **)&js.copy_string},
        {"JSEvaluateScript", (void **)&js.evaluate},
        {"JSObjectGetProperty", (void **)&js.property},
        {"JSValueToObject", (void **)&js.object_of},
        {"JSObjectCallAsFunction", (void **)&js.call},
        {"JSValueMakeString", (void **)&js.value_of},
        {"JSValueToStringCopy", (void **)&js.string_of},
    };
    if (!js_has_space()) return 0;
    void *library = load(names, symbols, sizeof symbols / sizeof *symbols);
    if (!library) return 0;
    // The thread that returns memory to the system would end after ten idle seconds, and be started again.
    *(void **)&js.disable_scavenger = dlsym(library, "_ZN7bmalloc3api16disableScavengerEv");
    if (js.disable_scavenger) js.disable_scavenger();
    group = js.create_group();
    if (!group || !js_begin()) return 0;
    // The engine asks for the time zone again and again: in files, unless TZ has a name that it knows.
    void *zone = js_run("Intl.DateTimeFormat().resolvedOptions().timeZone");
    char *name = zone ? js_text(zone) : NULL;
    int (*set)(const char *, const char *, int) = NULL;
    *(void **)&set = dlsym(library, "setenv");
    if (name && set) set("TZ", name, 1);
    free(name);
    // What is read once is read here.
    js_run("[new Date().toString(), new Date(0).getHours(), /a/i.test('\\u00c4'), '\\u00c4'.toLowerCase(), Math.random()].join()");
    js_end();
    *engine = (struct netkit_pac_engine){"JavaScriptCore", js_begin, js_evaluate, js_call, js_end};
    return 1;
}

// MARK: libpacparser

static struct {
    int (*init)(void);
    int (*parse)(const char *script);
    char *(*find)(const char *url, const char *host);
    void (*cleanup)(void);
    void (*set_printer)(int (*)(const char *, va_list));
} pacparser;

// The library of Debian 13 (1.4.5) ends the process where its own functions make a text of an array with several elements. These
// replace them: an assignment keeps a property hidden from `for (… in …)`.
static const char array_texts[] =
    "Array.prototype.join = function (separator) {\n"
    "  var text = '', between = separator === undefined ? ',' : String(separator), i;\n"
    "  for (i = 0; i < this.length; i++) {\n"
    "    if (i) text += between;\n"
    "    if (this[i] !== null && this[i] !== undefined) text += this[i];\n"
    "  }\n"
    "  return text;\n"
    "};\n"
    "Array.prototype.toString = Array.prototype.toLocaleString = function () { return this.join(); };\n";

static int pacparser_begin(void) {
    forget_words();
    return pacparser.init() && pacparser.parse(array_texts);
}

static int pacparser_evaluate(const char *text) {
    forget_words();
    return pacparser.parse(text);
}

static const char *pacparser_call(const char *function, const char *url, const char *host) {
    char statement[128];
    forget_words();
    // The library calls these functions only.
    snprintf(statement, sizeof statement, "FindProxyForURL = FindProxyForURLEx = %s;", function);
    return pacparser.parse(statement) ? pacparser.find(url, host) : NULL;
}

static void pacparser_end(void) { pacparser.cleanup(); }

// Time zones are in a file, which is read for the last time here: while TZ has the same value, it is not looked at again.
static void load_time_zone(void *library) {
    int (*set)(const char *, const char *, int) = NULL;
    void (*read_zone)(void) = NULL;
    *(void **)&set = dlsym(library, "setenv");
    *(void **)&read_zone = dlsym(library, "tzset");
    const char *zone = getenv("TZ");
    if (set) set("TZ", zone ? zone : ":/etc/localtime", 1);
    if (read_zone) read_zone();
}

static int pacparser_load(struct netkit_pac_engine *engine) {
    static const char *const names[] = {"libpacparser.so.1", NULL};
    const struct symbol symbols[] = {
        {"pacparser_init", (void **)&pacparser.init},
        {"pacparser_parse_pac_string", (void **)&pacparser.parse},
        {"pacparser_find_proxy", (void **)&pacparser.find},
        {"pacparser_cleanup", (void **)&pacparser.cleanup},
        {"pacparser_set_error_printer", (void **)&pacparser.set_printer},
    };
    void *library = load(names, symbols, sizeof symbols / sizeof *symbols);
    if (!library) return 0;
    pacparser.set_printer(print);
    load_time_zone(library);
    *engine = (struct netkit_pac_engine){"libpacparser", pacparser_begin, pacparser_evaluate, pacparser_call, pacparser_end};
    return 1;
}

int netkit_pac_load(struct netkit_pac_engine *engine, const char *kinds) {
    for (; *kinds; kinds++) {
        if (*kinds == NETKIT_PAC_JAVASCRIPTCORE && js_load(engine)) return 1;
        if (*kinds == NETKIT_PAC_PACPARSER && pacparser_load(engine)) return 1;
    }
    return 0;
}

#endif

// The blocking streams of chapter 2, with files.
// run: $SCRATCH/source $SCRATCH/target
// prints: source\nread 6 bytes\nerror 2 of domain 1\nHello, world\n
#include "Listings.h"

static CFIndex myReadBufferSize = 4;
static int rounds;

// Listing 2-5 leaves it to its reader to end the loop: `done` becomes true after one write.
static Boolean *finished(void) {
    static Boolean value;
    value = value || rounds++ >= 1;
    return &value;
}

static void readFile(CFURLRef fileURL) {
#include "listing 2-1"
#include "listing 2-2"
#include "listing 2-3"
#include "listing 2-4"
}

static void writeFile(CFURLRef fileURL) {
#define done (*finished())
#include "listing 2-5"
#undef done
}

int main(int argc, char **argv) {
    CFURLRef source = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)argv[1], (CFIndex)strlen(argv[1]), FALSE);
    CFURLRef target = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)argv[2], (CFIndex)strlen(argv[2]), FALSE);
    CFURLRef missing = address("file:///missing/file");
    FILE *file = fopen(argv[1], "w");
    fputs("source", file);
    fclose(file);
    readFile(source);
    printf("\nread %ld bytes\n", handledBytes);
    readFile(missing);
    writeFile(target);
    char line[64] = "";
    file = fopen(argv[2], "r");
    fread(line, 1, sizeof line - 1, file);
    fclose(file);
    printf("%s\n", line);
    return 0;
}

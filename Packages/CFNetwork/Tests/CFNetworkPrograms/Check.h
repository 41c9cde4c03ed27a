#ifndef CHECK_H
#define CHECK_H

#define TEXT_OF(line) #line
#define LINE_TEXT(line) TEXT_OF(line)

/// Ends the program with the text of a condition that does not hold.
#define CHECK(condition) \
    do { \
        if (!(condition)) return __FILE__ ":" LINE_TEXT(__LINE__) ": " #condition; \
    } while (0)

#endif

#ifndef CFNETWORK_PROGRAMS_H
#define CFNETWORK_PROGRAMS_H

// Programs in C that the tests run. Each returns NULL, or the text of the first condition that does not hold.

/// Requests and responses: created, filled, serialized, copied.
const char *_Nullable CFNetworkMessageProgram(void);

/// Received messages, at every split of their bytes.
const char *_Nullable CFNetworkReceivingProgram(void);

/// Every class of errors: constants and their texts.
const char *_Nullable CFNetworkConstantsProgram(void);

#endif

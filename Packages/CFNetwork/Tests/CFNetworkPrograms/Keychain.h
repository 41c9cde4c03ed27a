#ifndef KEYCHAIN_H
#define KEYCHAIN_H

/// Gives the process a keychain of its own, in a new folder, which it returns.
char *useOwnKeychain(void);

/// Removes the folder of the keychain.
void removeKeychain(const char *folder);

#endif

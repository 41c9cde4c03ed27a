#define _GNU_SOURCE
#include "CEventLoops.h"
#include <pthread.h>

void netkit_name_this_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

/* What the parts of `init` share: init.c, strangers.c. */
#ifndef INIT_H
#define INIT_H

/* Ends this program as a shell does, with `what` and errno's words, if `failed`. */
void require(int failed, const char *what);
/* Becomes the parent of a stranger's program: strangers.c. */
void start_stranger(int count, char **words);

#endif

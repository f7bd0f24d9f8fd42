/*
 * The files of a guest that has no namespace of its own. Its paths are the same everywhere, as in a namespace: a few
 * places lead to descriptors of this computer, and nothing else is there. Paths are taken apart here, so that neither
 * .. nor a link leads out of a place (openat2(2)).
 */
#define _GNU_SOURCE
#include "confine.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char memory[] = "/dev/shm";
enum { PLACES = 64, LONGEST = 4096 };
static struct { char path[512]; int file, writable, is_folder; } places[PLACES];
static size_t known;

/* PATH=HOST, of which HOST is opened before this program becomes another user. */
void add_place(const char *words, int writable)
{
	const char *host = strchr(words, '=');
	struct stat status;

	errno = EINVAL;
	check(known == PLACES || !host || (size_t)(host - words) >= sizeof(places[0].path), words);
	memcpy(places[known].path, words, host - words);
	places[known].file = opened(host + 1, O_PATH);
	check(fstat(places[known].file, &status), words);
	places[known].writable = writable;
	places[known++].is_folder = S_ISDIR(status.st_mode);
}

int place(const char *path)
{
	for (size_t i = 0; i < known; i++)
		if (!strcmp(places[i].path, path))
			return places[i].file;
	errno = ENOENT;
	check(1, path);
	return -1;
}

/* PATH without double slashes and dots, without the slash at its end; 0 or a negative errno. */
static int normalized(const char *path, char *plain)
{
	size_t length = 0;

	if (*path != '/')
		return -ENOENT;
	while (*path) {
		size_t word = strcspn(path += strspn(path, "/"), "/");

		if (word == 2 && !memcmp(path, "..", 2))
			return -EACCES;
		if (word && !(word == 1 && *path == '.')) {
			plain[length++] = '/';
			memcpy(plain + length, path, word);
			length += word;
		}
		path += word;
	}
	plain[length] = 0;
	return 0;
}

/* What follows the place in the path: empty for the place itself; NULL if it is not in it. */
static const char *below(size_t number, const char *path)
{
	size_t length = strcmp(places[number].path, "/") ? strlen(places[number].path) : 0;

	if (strncmp(path, places[number].path, length) || (path[length] && path[length] != '/'))
		return NULL;
	return path[length] && !places[number].is_folder ? NULL : path + length;
}

static int beneath(int folder, const char *path, int flags, mode_t mode)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .mode = mode };

	how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
	return syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

static int in_place(size_t number, const char *rest, struct spot *spot)
{
	const char *last = strrchr(rest, '/');
	char parent[LONGEST] = ".";

	spot->writable = places[number].writable;
	if (!last) {
		spot->name[0] = 0;
		spot->folder = dup(places[number].file);
		return spot->folder < 0 ? -errno : 0;
	}
	if (strlen(last + 1) >= sizeof(spot->name))
		return -ENAMETOOLONG;
	strcpy(spot->name, last + 1);
	if (last > rest) {
		memcpy(parent, rest + 1, last - rest - 1);
		parent[last - rest - 1] = 0;
	}
	spot->folder = beneath(places[number].file, parent, O_PATH | O_DIRECTORY, 0);
	return spot->folder < 0 ? -errno : 0;
}

int find_spot(const char *path, struct spot *spot)
{
	const char *best = NULL, *rest;
	char plain[LONGEST];
	size_t number = 0;
	int error = normalized(path, plain);

	if (error)
		return error;
	for (size_t i = 0; i < known; i++)
		if ((rest = below(i, plain)) && (!best || rest > best)) {
			best = rest;
			number = i;
		}
	spot->is_memory = !strncmp(plain, memory, sizeof(memory) - 1) && strchr("/", plain[sizeof(memory) - 1]);
	return best ? in_place(number, best, spot) : -ENOENT;
}

/* The path of an open file as this computer knows it, without an end if it is too long. */
static const char *path_of(int file, char *path)
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	length = readlink(link, path, LONGEST);
	path[length > 0 && length < LONGEST ? length : 0] = 0;
	return path;
}

static int is_same(int file, int other)
{
	struct stat status, others;

	return !fstat(file, &status) && !fstat(other, &others) && status.st_dev == others.st_dev
		&& status.st_ino == others.st_ino;
}

/* The path only says where to look: what is found there below the place must be the file. */
static int is_below(size_t number, int file)
{
	char path[LONGEST], folder[LONGEST];
	size_t length = strlen(path_of(places[number].file, folder));
	int found, same;

	path_of(file, path);
	if (!places[number].is_folder || strncmp(path, folder, length) || path[length] != '/')
		return 0;
	found = beneath(places[number].file, path + length + 1, O_PATH | O_NOFOLLOW, 0);
	same = found >= 0 && is_same(file, found);
	if (found >= 0)
		close(found);
	return same;
}

int is_in_writable_place(int file)
{
	for (size_t i = 0; i < known; i++)
		if (places[i].writable && (is_same(places[i].file, file) || is_below(i, file)))
			return 1;
	return 0;
}

/* The file of the place itself, opened anew so that it has a position of its own. */
static int reopened(int file, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	return open(path, (flags & ~O_NOFOLLOW) | O_CLOEXEC | O_NOCTTY);
}

int open_spot(const struct spot *spot, int flags, mode_t mode)
{
	int wants_more = (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
	int file;

	if ((flags & O_TMPFILE) == O_TMPFILE)
		return -EOPNOTSUPP;
	if (wants_more && !spot->writable)
		return -EACCES;
	file = *spot->name ? beneath(spot->folder, spot->name, flags | O_NOFOLLOW, flags & O_CREAT ? mode & 0777 : 0)
		: reopened(spot->folder, flags);
	return file < 0 ? -errno : file;
}

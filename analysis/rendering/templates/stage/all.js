{% include "stage/model.js" %}
{% include "stage/why.js" %}
{% include "stage/limits.js" %}
{% include "stage/strip.js" %}
{% include "stage/stage.js" %}
